import { test } from 'node:test'
import { lack } from '../support/service/lack.ts'
import { endPrograms } from './programs.ts'
import { runOnBench } from './run-cases.ts'

test('no process, handle or socket is left of programs that crash, do not obey, are deleted or left alone', {
  skip: lack('bubblewrap'),
}, async () => {
  await runOnBench(bench => endPrograms(bench, { rounds: 15 }), { seed: 1 })
})
