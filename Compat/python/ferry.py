"""The module ferry_apns under a shorter name, unless another module `ferry` is installed: then that one."""
import os
import sys


def _is_own(folder):
    """Whether the module `ferry` of a folder is this one. It may be installed in several."""
    return os.path.isdir(os.path.join(folder, "ferry_apns")) \
        and not os.path.isfile(os.path.join(folder, "ferry", "__init__.py"))


def _other(name, paths):
    """The module of this name in one of the folders, or None."""
    try:
        from importlib.machinery import PathFinder
        from importlib.util import module_from_spec
    except ImportError:  # Python before 3.5
        import imp
        try:
            found = imp.find_module(name, paths)
        except ImportError:
            return None
        return imp.load_module(name, *found)
    spec = PathFinder.find_spec(name, paths)
    if spec is None or spec.loader is None:  # A folder without a module has no loader.
        return None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "ferry":
    _module = _other("ferry", [path for path in sys.path if not _is_own(path or ".")])
    if _module is None:
        import ferry_apns as _module
    sys.modules["ferry"] = _module
