"""Files: opened only where they are plain files of the model's own folder, and written completely or not at all."""
