"""What mkdocs needs to make the site of pages that are written to be read on GitHub as well: the two pages outside of docs/, links
into the source tree, GitHub's anchors, and lists as GitHub understands them.
"""
import os
import re
import sys

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pages  # pylint: disable=wrong-import-position

ITEM = re.compile(r"^( *)([-*]|\d+\.) +")


def on_config(config):
    if config["extra"]["source_url"] and not pages.is_elsewhere(config["extra"]["source_url"]):
        raise PluginError(f"SOURCE_URL={config['extra']['source_url']}: it has to begin with its scheme, such as https:")
    config["mdx_configs"].setdefault("toc", {})["slugify"] = lambda text, separator: pages.slug(text)
    return config


def on_files(files, config):
    for path in pages.OUTSIDE:
        files.append(File(path, pages.ROOT, config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_markdown(markdown, page, config, files):
    del files
    path = page.file.src_uri if page.file.src_uri in pages.OUTSIDE else "docs/" + page.file.src_uri
    lines = markdown.split("\n")
    for number, line in pages.prose_lines(markdown):
        lines[number] = pages.outside_of_code(line, lambda part: with_links_of_the_site(part, path, config["extra"]["source_url"]))
        if line.startswith("|"):  # GitHub wants a backslash before a bar in code within a table, mkdocs shows it
            lines[number] = re.sub(r"`[^`]*`", lambda code: code.group(0).replace("\\|", "|"), lines[number])
    return "\n".join(with_lists(lines))


def with_links_of_the_site(text, page, source_url):
    def of_the_site(match):
        shown, target = match.groups()
        if pages.is_elsewhere(target):
            return match.group(0)
        path, anchor = pages.resolve(page, target)
        to = pages.address(path)
        if to:
            relative = os.path.relpath(to, os.path.dirname(pages.address(page)) or ".")
            return f"[{shown}]({relative}{'#' + anchor if anchor else ''})"
        if source_url:
            return f"[{shown}]({source_url.rstrip('/')}/{path})"
        if shown.strip("`") in (path, os.path.basename(path)):
            return f"`{path}`"
        return f"{shown} (`{path}`)"
    return pages.LINK.sub(of_the_site, text)


def with_lists(lines):
    """Markdown as of old wants a blank line before a list, and four blanks before a list in a list: GitHub neither."""
    result, in_list = [], False
    prose = {number for number, _ in pages.prose_lines("\n".join(lines))}
    for number, line in enumerate(lines):
        item = ITEM.match(line) if number in prose else None
        if item and (in_list or not item.group(1)):
            if not in_list and number > 0 and lines[number - 1].strip():
                result.append("")
            in_list = True
            if 2 <= len(item.group(1)) < 4:
                line = "    " + line.lstrip()
        elif line.strip() and not line.startswith(" ") and (number == 0 or not lines[number - 1].strip() or line.startswith("#")):
            in_list = False
        result.append(line)
    return result
