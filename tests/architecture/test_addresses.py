from tests.architecture.tree import ROOT, lines_matching, tracked_files

REGISTRIES = "pypi|pythonhosted|npmjs|npmmirror|yarnpkg|jsdelivr|unpkg|cdnjs|esm\\.sh|googleapis|gstatic|debian|docker"


def test_no_tracked_file_names_a_package_registry_or_cdn() -> None:
    assert lines_matching(tracked_files(), rf"https?://[^/\s]*({REGISTRIES})") == []


def test_locks_leave_the_choice_of_an_index_to_the_machine() -> None:
    locks = [*ROOT.glob("requirements/*"), ROOT / "package-lock.json", ROOT / ".npmrc"]
    assert lines_matching(locks, r"--(extra-)?index-url|--find-links|\"resolved\"|registry\s*=") == []
