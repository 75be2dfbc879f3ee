"""The name that the older speedcopy had: the same module as speedcopy_c."""

import importlib
import importlib.abc
import importlib.machinery
import sys

import speedcopy_c


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes ``speedcopy.x`` the module ``speedcopy_c.x``."""

    def find_spec(self, name, path=None, target=None):
        if name.startswith("speedcopy."):
            return importlib.machinery.ModuleSpec(name, self)
        return None

    def create_module(self, spec):
        module = importlib.import_module("speedcopy_c" + spec.name[len("speedcopy") :])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = module.__spec__.loader_state


if __name__ == "__main__":
    from speedcopy_c.__main__ import main

    sys.exit(main())

sys.meta_path.insert(0, _Alias())
sys.modules[__name__] = speedcopy_c
