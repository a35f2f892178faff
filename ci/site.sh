#!/usr/bin/env bash
# The site, into a folder outside of the repository; warnings are errors, and so is a link to nothing.
#   bash ci/site.sh FOLDER      needs nnfast[docs]
set -euo pipefail
folder=$(realpath -m "$1")
cd "$(dirname "$0")/.."
NO_MKDOCS_2_WARNING=1 python -m mkdocs build --quiet --strict --site-dir "$folder"
python ci/check_links.py "$folder"
