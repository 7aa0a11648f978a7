"""The scripts of this folder import each other by bare name, as programs do."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
