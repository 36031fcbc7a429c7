import importlib.util
import itertools

import pytest

import fieldstone

BACKENDS = ("debug", "numpy", "cpu_kfirst", "cpu_ifirst", "gpu")


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@pytest.fixture(params=[1, 2])
def threads(request):
    """Run the test with so many threads."""
    before = fieldstone.num_threads()
    fieldstone.set_num_threads(request.param)
    yield request.param
    fieldstone.set_num_threads(before)


@pytest.fixture(scope="session")
def from_text(tmp_path_factory):
    """Make a function of gtscript text, from a file, as users have it."""
    folder = tmp_path_factory.mktemp("gtscript")
    numbers = itertools.count()

    def load(text, name="definition"):
        path = folder / f"case{next(numbers)}.py"
        path.write_text(f"from fieldstone.gtscript import *\n\n\n{text}")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, name)

    return load
