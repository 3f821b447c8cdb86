// npm run faults                    every case
// npm run faults -- F01 F07         those whose id starts so
// npm run faults -- budgets         those of a group
//   --seed 7   repeats the random choices of a run      --write   stores the table in bench/results
//   --times 25 makes the cases with random kills that many times longer: F01 kills 500 times
import { randomInt } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { allCases } from './all-cases.ts'
import { type Report, runCases } from './run-cases.ts'

const { values, positionals } = parseArgs({
  options: {
    seed: { type: 'string' },
    times: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const chosen = allCases.filter(
  ({ id, group }) =>
    positionals.length === 0 ||
    positionals.some(name => group === name || id.toLowerCase().startsWith(name.toLowerCase())),
)
if (chosen.length === 0) {
  process.stderr.write(`No such case. There are: ${allCases.map(({ id }) => id).join(', ')}\n`)
  process.exit(2)
}
const seed = values.seed === undefined ? randomInt(1, 2 ** 31) : Number(values.seed)
process.stdout.write(`seed ${seed}\n`)
const times = Number(values.times)
if (!Number.isInteger(times) || times < 1) {
  process.stderr.write('--times must be a whole number from 1 on\n')
  process.exit(2)
}
const reports = await runCases(chosen, { seed, times })
const table = tableOf(reports)
process.stdout.write(`\n${table}\n`)
if (values.write) store(table)
process.exitCode = reports.some(({ result }) => result === 'failed') ? 1 : 0

function tableOf(all: readonly Report[]): string {
  const lines = all.map(({ id, title, rounds, result, numbers, seconds }) => {
    const shown = Object.entries(numbers).map(([name, value]) => `${name} ${value}`)
    const cell = shown.join(', ').replaceAll('|', '\\|').replaceAll('\n', ' ')
    return `| ${id} | ${title} | ${rounds || '-'} | ${result} | ${cell} | ${seconds} |`
  })
  return [
    '| Case | Fault | Rounds | Result | Numbers | Seconds |',
    '| --- | --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n')
}

function store(text: string): void {
  const folder = join(import.meta.dirname, '..', '..', 'bench', 'results')
  const date = new Date().toISOString().slice(0, 10)
  const machine = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB memory, Node ${process.version}`
  mkdirSync(folder, { recursive: true })
  const head = `# Faults, ${date}\n\nMachine: ${machine}. Seed ${seed}: \`npm run faults -- --seed ${seed}${times === 1 ? '' : ` --times ${times}`}\` repeats its random choices.\n`
  const name = times === 1 ? `faults-${date}.md` : `faults-${date}-times-${times}.md`
  writeFileSync(join(folder, name), `${head}\n${text}\n`)
}
