// npm run fuzz                                  one minute with a new seed
// npm run fuzz -- --seed 7 --minutes 20         longer; the same seed sends the same requests again
// npm run fuzz -- --route /session              only operations whose id or path contains the text
// npm run fuzz -- --requests 100                of each operation in a round, 20 by default
import { join } from 'node:path'
import { run } from 'node:test'
import { parseArgs } from 'node:util'
import { lackingPrograms } from '../../../scripts/system-programs.ts'
import { withTestEnvironment } from '../../../scripts/test-environment.ts'
import { optionsVariable, type RunOptions } from './run-options.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    minutes: { type: 'string', default: '1' },
    requests: { type: 'string', default: '20' },
    route: { type: 'string' },
  },
})
const [seed, minutes, requests] = [values.seed, values.minutes, values.requests].map(text =>
  text === undefined ? undefined : Number(text),
)
if ([seed, minutes, requests].some(Number.isNaN)) {
  process.stderr.write('--seed, --minutes and --requests are numbers\n')
  process.exit(2)
}
const options: RunOptions = {
  ...(seed !== undefined && { seed }),
  ...(minutes !== undefined && { minutes }),
  ...(requests !== undefined && { requests }),
  ...(values.route !== undefined && { route: values.route }),
}

await withTestEnvironment(lackingPrograms(), async env => {
  const files = [join(import.meta.dirname, 'fuzz.test.ts')]
  for await (const event of run({ files, env: { ...env, [optionsVariable]: JSON.stringify(options) } })) {
    if (event.type === 'test:diagnostic') process.stdout.write(`${event.data.message}\n`)
    if (event.type === 'test:fail') {
      const { cause, message } = event.data.details.error
      process.stdout.write(`FAILED ${event.data.name}: ${cause instanceof Error ? cause.message : message}\n`)
      process.exitCode = 1
    }
  }
})
