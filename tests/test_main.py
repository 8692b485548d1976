"""``python -m minitorch``: an unmodified script runs with torch being minitorch."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import minitorch

SOURCE = str(Path(minitorch.__file__).parents[1])


def python(*arguments: str, cwd: Path, module: bool = True) -> subprocess.CompletedProcess[str]:
    start = [sys.executable, *(["-m", "minitorch"] if module else [])]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.run([*start, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def script(tmp_path: Path) -> Any:
    """Writes a script into a folder of its own and runs it from outside that."""

    def run(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        folder = tmp_path / "scripts"
        folder.mkdir(exist_ok=True)
        (folder / "program.py").write_text(text)
        return python(str(Path("scripts") / "program.py"), *arguments, cwd=tmp_path)

    return run


TRAINING = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.backends.cudnn as cudnn
from torch import Tensor, optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torch.autograd import Variable
from torch.nn.utils import clip_grad_norm_

assert int(torch.__version__.split(".")[0]) >= 2
torch.manual_seed(0)
cudnn.deterministic = True
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class Numbers(Dataset):
    def __len__(self):
        return 32
    def __getitem__(self, i):
        return torch.tensor([i / 32.0]), torch.tensor([2 * i / 32.0 + 1])

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(1, 8), nn.Linear(8, 1)
    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(F.relu(self.fc1(x)))

model = Net().to(device)
optimizer = optim.Adam(model.parameters(), lr=0.02)
scheduler = StepLR(optimizer, 20)
for epoch in range(30):
    for x, y in DataLoader(Numbers(), batch_size=8, shuffle=True):
        optimizer.zero_grad()
        loss = F.mse_loss(model(Variable(x).to(device)), y)
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    scheduler.step()
print(f"{loss.item():.4f}")
assert loss.item() < 0.05
"""


def test_a_training_script_runs_with_the_same_result_as_with_edited_imports(script: Any, tmp_path: Path) -> None:
    unmodified = script(TRAINING)
    assert unmodified.returncode == 0, unmodified.stderr
    edited = TRAINING.replace("import torch\n", "import minitorch as torch\n").replace("torch.__version__", "'2.0'")
    edited = edited.replace("import torch.", "import minitorch.").replace("from torch", "from minitorch")
    (tmp_path / "edited.py").write_text(edited)
    assert python("edited.py", cwd=tmp_path, module=False).stdout == unmodified.stdout


def test_the_modules_are_the_same_objects(script: Any) -> None:
    done = script(
        "import torch, torch.nn.functional, torch.utils.data, torch.special, sys\n"
        "import minitorch, minitorch.nn.functional, minitorch.special\n"
        "from torch.nn.modules.linear import Linear\n"
        "assert torch is minitorch and sys.modules['torch'] is minitorch\n"
        "assert torch.nn.functional is minitorch.nn.functional and torch.special is minitorch.special\n"
        "assert Linear is minitorch.nn.Linear and torch.utils.data.Dataset is minitorch.utils.data.Dataset\n"
        "assert torch.__spec__.name == 'minitorch' and torch.nn.functional.__spec__.name == 'minitorch.nn.functional'\n"
        "assert isinstance(torch.ones(1), minitorch.Tensor)\n"
        "assert torch.__version__.startswith('2.13.0+minitorch.')\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


AROUND = """
import inspect, json, os, pickle, sys
import helper

class Mine:
    pass

assert sys.modules["__main__"].Mine is Mine
assert type(pickle.loads(pickle.dumps(Mine()))) is Mine
assert "pass" in inspect.getsource(Mine)
path = os.path.relpath(sys.path[0], os.path.realpath("."))
print(json.dumps([__name__, __file__, sys.argv, path, __spec__ is None, __package__, __doc__]))
"""


def test_what_surrounds_a_script_is_as_with_python(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "helper.py").write_text("")
    (tmp_path / "scripts" / "program.py").write_text(AROUND)
    arguments = [str(Path("scripts") / "program.py"), "--epochs", "3", "-c"]
    plain, ours = python(*arguments, cwd=tmp_path, module=False), python(*arguments, cwd=tmp_path)
    assert plain.returncode == 0, plain.stderr
    assert (ours.stdout, ours.stderr) == (plain.stdout, plain.stderr)


def test_modules_and_code_run_too(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "train.py").write_text(
        "import sys, torch\nfrom . import __name__ as n\nprint(n, __name__, sys.argv[1:])\n"
    )
    done = python("-m", "package.train", "--fast", cwd=tmp_path)
    assert done.stdout == "package __main__ ['--fast']\n", done.stderr
    done = python("-c", "import sys, torch; print(torch.ones(2).sum().item(), sys.argv, __name__)", "a", cwd=tmp_path)
    assert done.stdout == "2.0 ['-c', 'a'] __main__\n", done.stderr


def test_exit_codes(script: Any, tmp_path: Path) -> None:
    assert script("import sys; sys.exit(3)").returncode == 3
    done = script("raise SystemExit('stopped')")
    assert (done.returncode, done.stderr) == (1, "stopped\n")
    assert python(cwd=tmp_path).returncode == 2
    done = python("nowhere.py", cwd=tmp_path)
    assert done.returncode != 0
    assert "can't open file" in done.stderr
    assert "usage" in python("--help", cwd=tmp_path).stdout
    assert python("--version", cwd=tmp_path).stdout == f"minitorch {minitorch.__version__}\n"


def test_tracebacks_begin_with_the_script(script: Any) -> None:
    done = script("def f():\n    raise KeyError('lost')\n\nf()\n")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].endswith(f'{Path("scripts") / "program.py"}", line 4, in <module>')
    assert lines[-1] == "KeyError: 'lost'"
    done = script("x = (1,\n")
    assert done.returncode == 1
    assert "SyntaxError" in done.stderr
    assert "__main__.py" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_an_interrupt_ends_the_script(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import torch, time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    command = [sys.executable, "-m", "minitorch", "program.py"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    pipes["preexec_fn"] = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # ignored in the background
    with subprocess.Popen(command, cwd=tmp_path, env=environment, text=True, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors


NAMES = """
import torch

def message(error, code):
    try:
        exec(code)
    except error as caught:
        assert type(caught) is error or error is ImportError
        return str(caught)
    raise AssertionError(f"{code} raises no {error.__name__}")

cases = [
    (AttributeError, "torch.reluu", "torch.reluu", "torch.relu"),
    (AttributeError, "torch.nn.Lineer(1, 1)", "torch.nn.Lineer", "torch.nn.Linear"),
    (AttributeError, "torch.nn.functional.crossentropy", "torch.nn.functional.crossentropy", "functional.cross_entropy"),
    (AttributeError, "torch.cross_entropy", "torch.cross_entropy", "torch.nn.functional.cross_entropy"),
    (AttributeError, "torch.utils.data.DataLoder", "torch.utils.data.DataLoder", "torch.utils.data.DataLoader"),
    (ImportError, "from torch import reluu", "torch.reluu", "torch.relu"),
    (ImportError, "from torch.nn import Lineer", "torch.nn.Lineer", "torch.nn.Linear"),
    (ImportError, "from torch.nn.functional import rellu", "torch.nn.functional.rellu", "torch.nn.functional.relu"),
    (ImportError, "from torch.optim import Adan", "torch.optim.Adan", "torch.optim.Adam"),
    (ModuleNotFoundError, "import torch.nn.functionel", "torch.nn.functionel", "torch.nn.functional"),
    (ModuleNotFoundError, "import torch.distributed as dist", "torch.distributed", "one process"),
    (ImportError, "from torch.utils.tensorboard import SummaryWriter", "torch.utils.tensorboard", "write values"),
    (ImportError, "import torchvision.transforms as T", "torchvision", "docs/how-to/without-torchvision.md"),
    (ImportError, "from torchvision import datasets", "torchvision", "PyTorch itself"),
    (ImportError, "import torchaudio", "torchaudio", "PyTorch itself"),
    (ImportError, "import pytorch_lightning as pl", "pytorch_lightning", "PyTorch itself"),
]
for error, code, name, hint in cases:
    text = message(error, code)
    assert name in text and hint in text, (code, text)
assert not hasattr(torch, "reluu") and not hasattr(torch.nn, "Lineer")
assert getattr(torch, "reluu", 5) == 5
assert hasattr(torch, "special") and torch.special.expit
"""


def test_names_that_are_not_there(script: Any) -> None:
    done = script(NAMES)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_for_scripts_with_torchvision_is_there() -> None:
    docs = Path(__file__).parents[1] / "docs"
    assert (docs / "how-to" / "without-torchvision.md").exists()


FORKED = """
import torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 6
    def __getitem__(self, i):
        import torch.nn.functional as F
        return F.relu(torch.tensor(float(i) - 3))

if __name__ == "__main__":
    loader = DataLoader(Numbers(), batch_size=3, num_workers=2, multiprocessing_context="fork")
    print([batch.tolist() for batch in loader])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_worker_processes(script: Any) -> None:
    done = script(FORKED)
    assert done.stdout == "[[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]]\n", done.stderr


PROCESSES = """
import sys
import torch, torch.multiprocessing as mp
from torch.utils.data import DataLoader, TensorDataset

def work(i, queue):
    queue.put((i, torch.nn.__name__, torch.ones(2) * i))

if __name__ == "__main__":
    context = mp.get_context(sys.argv[1])
    queue = context.Queue()
    process = context.Process(target=work, args=(3, queue))
    process.start()
    i, name, value = queue.get()
    process.join()
    print(i, name, value.tolist(), process.exitcode)
    loader = DataLoader(TensorDataset(torch.arange(4)), 2, num_workers=1, multiprocessing_context=sys.argv[1])
    print([batch[0].tolist() for batch in loader])
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_processes_have_the_same_torch(script: Any, method: str) -> None:
    done = script(PROCESSES, method)
    assert done.stdout == "3 minitorch.nn [3.0, 3.0] 0\n[[0, 1], [2, 3]]\n", done.stderr


def test_a_folder_and_the_standard_input_are_run(tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "helper.py").write_text("import torch\nvalue = torch.ones(1).item()\n")
    (folder / "__main__.py").write_text("import sys, helper\nprint(helper.value, sys.argv, __name__)\n")
    assert python("program", "a", cwd=tmp_path).stdout == "1.0 ['program', 'a'] __main__\n"
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    command = [sys.executable, "-m", "minitorch", "-", "a"]
    text = "import torch, sys; print(torch.__name__, sys.argv)"
    done = subprocess.run(command, input=text, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "minitorch ['-', 'a']\n"
    assert python("nothing.py", cwd=tmp_path).returncode == 2
