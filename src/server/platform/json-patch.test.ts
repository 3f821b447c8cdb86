import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyPatch, type PatchOperation } from './json-patch.ts'

const recipe = { title: 'Soup', steps: ['cut', 'cook'], 'a/b': { '~': 1 } }

const applied: readonly (readonly [operation: PatchOperation, expected: unknown])[] = [
  [
    { op: 'replace', path: '/title', value: 'Stew' },
    { ...recipe, title: 'Stew' },
  ],
  [
    { op: 'add', path: '/for', value: { people: 2 } },
    { ...recipe, for: { people: 2 } },
  ],
  [
    { op: 'add', path: '/steps/1', value: 'wash' },
    { ...recipe, steps: ['cut', 'wash', 'cook'] },
  ],
  [
    { op: 'add', path: '/steps/-', value: 'eat' },
    { ...recipe, steps: ['cut', 'cook', 'eat'] },
  ],
  [
    { op: 'remove', path: '/steps/0' },
    { ...recipe, steps: ['cook'] },
  ],
  [
    { op: 'replace', path: '/steps/1', value: null },
    { ...recipe, steps: ['cut', null] },
  ],
  [
    { op: 'replace', path: '/a~1b/~0', value: 2 },
    { ...recipe, 'a/b': { '~': 2 } },
  ],
  [
    { op: 'remove', path: '/title' },
    { steps: recipe.steps, 'a/b': recipe['a/b'] },
  ],
  [{ op: 'replace', path: '', value: [] }, []],
]

for (const [operation, expected] of applied) {
  test(`${operation.op} ${operation.path || 'of the whole value'}`, () => {
    const before = structuredClone(recipe)
    assert.deepEqual(applyPatch(recipe, [operation]), expected)
    assert.deepEqual(recipe, before, 'the given value is unchanged')
  })
}

const rejected: readonly (readonly [operation: PatchOperation, problem: RegExp])[] = [
  [{ op: 'replace', path: '/none', value: 1 }, /path "\/none" does not exist/],
  [{ op: 'remove', path: '/steps/2' }, /does not exist/],
  [{ op: 'replace', path: '/steps/-', value: 1 }, /does not exist/],
  [{ op: 'add', path: '/steps/3', value: 1 }, /does not exist/],
  [{ op: 'add', path: '/steps/01', value: 1 }, /does not exist/],
  [{ op: 'add', path: '/none/of/it', value: 1 }, /does not exist/],
  [{ op: 'add', path: '/title/0', value: 1 }, /does not exist/],
  [{ op: 'add', path: 'title', value: 1 }, /must be empty or start with \//],
  [{ op: 'remove', path: '' }, /must name a member/],
  [{ op: 'add', path: '/__proto__/admin', value: true }, /reserved name/],
  [{ op: 'replace', path: '/toString', value: 1 }, /does not exist/],
]

test('rejects paths that do not exist, and names that change prototypes', () => {
  for (const [operation, problem] of rejected) assert.throws(() => applyPatch(recipe, [operation]), problem)
})

test('applies all operations in their order, or none', () => {
  const added = { op: 'add', path: '/steps/-', value: 'eat' } as const
  assert.deepEqual(applyPatch(recipe, [added, { op: 'remove', path: '/steps/2' }]), recipe)
  assert.throws(() => applyPatch(recipe, [added, { op: 'remove', path: '/steps/9' }]))
})
