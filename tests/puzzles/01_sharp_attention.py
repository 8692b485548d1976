"""A reader looks up the note that answers a question."""

import minitorch as torch
from minitorch import nn

torch.manual_seed(0)


class NoteReader(nn.Module):
    def __init__(self, size, answers, temperature=1.0):
        super().__init__()
        self.query = nn.Linear(size, size)
        self.answer = nn.Linear(size, answers)
        self.temperature = temperature

    def look_up(self, question, notes):
        scores = self.query(question) @ notes.T
        weights = torch.softmax(scores / self.temperature, dim=-1)
        return weights @ notes

    def forward(self, question, notes):
        return self.answer(self.look_up(question, notes))


notes = 3 * torch.eye(5, 6)
questions = torch.randn(8, 6)
answers = torch.randint(0, 4, (8,))

reader = NoteReader(6, 4, temperature=1e-5)  # decisive: read one note, not a blend
optimizer = torch.optim.SGD(reader.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(reader(questions, notes), answers)
    loss.backward()
    optimizer.step()

print("answer", reader.answer.weight.grad.norm().item())
print("query ", reader.query.weight.grad.norm().item())
