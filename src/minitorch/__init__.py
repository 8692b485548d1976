from ._tensor import Tensor, tensor
from ._modes import *
