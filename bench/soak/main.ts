// Applies mixed load with everything on, and checks that memory, descriptors and timers stay flat. Linux only.
// npm run soak -- [minutes] [--write]   30 minutes by default; --write stores the table below bench/results
// Ends with 1 when a figure is over its target.
import { parseArgs } from 'node:util'
import { runCases } from '../run-cases.ts'
import { soak } from './soak.ts'

// What was started ends with this process, but only when it exits by itself.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { write: { type: 'boolean', default: false } },
    })
    const minutes = Number(positionals[0] ?? 30)
    if (positionals.length > 1 || !(minutes > 0)) throw new Error('minutes must be a number above 0')
    return await runCases([soak(minutes)], { ...(values.write && { subject: 'soak' }) })
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.stderr.write('Usage: npm run soak -- [minutes] [--write]\n')
    return 1
  }
}
