"""The site: Sphinx with MyST over the whole repository, `sphinx-build -c docs . site`."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

project = "pdai"
html_title = "pdai"
extensions = [
    "myst_nb",
    "sphinx.ext.apidoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "docs.pages",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "proofs_notes/**.md",
    "pdai/distributed/README.md",
    "pdai/experiments/*.md",
    "benchmarks/*/README.md",
    "benchmarks/results/*.md",
    "C*.md",
    "PROMISE.md",
    "READING.md",
]
exclude_patterns = ["site", "runs", ".*", "build", "**/_build"]
# A page that is in no table of contents is reached by links.
suppress_warnings = ["toc.not_included", "myst.header", "ref.python"]
html_theme = "furo"
# Opened from a folder, the site begins there.
html_extra_path = ["index.html"]
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
nb_execution_mode = "off"
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]
# Docstrings put code in single backticks.
default_role = "code"
napoleon_use_ivar = True
napoleon_attr_annotations = False
add_module_names = False
# Each name in the table of contents of each page would take minutes.
toc_object_entries = False
autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "ignore-module-all": True,
    "exclude-members": "set",
}
autodoc_mock_imports = ["torch", "gfn", "gfnx", "gflownet", "arviz"]
apidoc_module_first = True
apidoc_modules = [
    {"path": f"../{package}", "destination": f"docs/api/{package}"}
    for package in ("pdai", "reference", "fast")
]
