"""The docs site: Sphinx reads docs/, `sphinx-build -W docs site` writes it; nothing is fetched.

The pages are Markdown (MyST). What is computed when the site is built, the commands' options and the operators, is in
docs/site/generated.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "site"))

from graphir import __version__

project = "graphir"
author = "the authors of graphir"
copyright = "the authors of graphir, Apache-2.0"  # noqa: A001  Sphinx reads it by this name
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_argparse_cli", "sphinx_copybutton", "generated"]
exclude_patterns = ["site", "pictures/README.md"]
html_theme = "furo"
html_title = f"graphir {release}"
html_static_path = ["site/static"]
html_css_files = ["graphir.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}

myst_enable_extensions = ["html_image"]
myst_heading_anchors = 3
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_copy_empty_lines = False
copybutton_line_continuation_character = "\\"

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
highlight_language = "none"  # a block without a language is what a program printed
pygments_style = "friendly"
pygments_dark_style = "monokai"
