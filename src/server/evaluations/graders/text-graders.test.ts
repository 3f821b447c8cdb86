import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createResultSchemas } from '../../platform/result-schema/result-schemas.ts'
import { gradeCommand } from './command-grader.ts'
import { type Graded, GraderError } from './graded.ts'
import { gradeContains, gradeExact, gradeRegex, gradeSchema } from './text-graders.ts'

// Slow machines get enough time for patterns that end.
const { mismatch, isMatch } = createResultSchemas({ checkMs: 10_000, idleMs: 30_000 })
const { isMatch: hasty } = createResultSchemas({ checkMs: 100, idleMs: 30_000 })

test('exact and contains compare texts, exact without white space at both ends', () => {
  assert.equal(gradeExact({ type: 'exact', value: 'yes' }, ' yes\n').passed, true)
  assert.equal(gradeExact({ type: 'exact', value: 'yes' }, 'Yes').passed, false)
  assert.equal(gradeExact({ type: 'exact', value: 'yes', ignore_case: true }, 'YES').passed, true)
  assert.equal(gradeContains({ type: 'contains', value: 'b' }, 'abc').passed, true)
  assert.equal(gradeContains({ type: 'contains', value: 'B' }, 'abc').passed, false)
})

test('a pattern is searched in the answer, and one that takes too long is an error of the grader', async () => {
  assert.equal((await gradeRegex({ type: 'regex', pattern: 'b+' }, 'abbc', isMatch)).passed, true)
  assert.equal((await gradeRegex({ type: 'regex', pattern: '^b' }, 'abbc', isMatch)).passed, false)
  const endless = gradeRegex({ type: 'regex', pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`, hasty)
  await assert.rejects(endless, GraderError)
})

test('an answer is read as JSON and checked against a schema', async () => {
  const schema = { type: 'object', required: ['n'] }
  assert.equal((await gradeSchema({ type: 'json_schema', schema }, '{"n": 1}', mismatch)).passed, true)
  assert.match((await gradeSchema({ type: 'json_schema', schema }, '{}', mismatch)).reason, /n/)
  assert.equal((await gradeSchema({ type: 'json_schema', schema }, 'n: 1', mismatch)).reason, 'the answer is not JSON')
})

test('a command passes with exit code 0, and one that is cut off is an error of the grader', async () => {
  const run = (result: object) => async () =>
    ({ outcome: 'exited', exitCode: 0, output: 'out', outputBytes: 3, truncated: false, ...result }) as never
  const graded = { sessionId: 'ses_1', answer: 'a', signal: new AbortController().signal } as Graded
  const grade = (result: object) => gradeCommand({ type: 'command', command: 'true' }, graded, run(result))
  assert.equal((await grade({})).passed, true)
  assert.deepEqual(await grade({ exitCode: 3 }), { passed: false, score: 0, reason: 'exit code 3: out' })
  for (const outcome of ['timed_out', 'output_limit', 'disk_limit', 'cancelled'])
    await assert.rejects(grade({ outcome, exitCode: null }), GraderError)
})
