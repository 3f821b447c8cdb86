// Everything that must hold before a change lands: format and lint, console, types, import directions, API reference, dead code,
// words, tests.
// A tool that examined nothing counts as failed.
import { spawn } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'

interface Step {
  readonly name: string
  readonly command: readonly string[]
  /** Finds in the output how many things were examined. */
  readonly counted: RegExp
  /** Turns a match into a count; the first group by default. */
  readonly count?: (output: string) => number
  readonly unit: string
}

interface Result {
  readonly step: Step
  readonly isGreen: boolean
  readonly examined: number
  readonly seconds: number
}

const root = dirname(import.meta.dirname)

/** Steps of a group run at the same time; each group needs the one before. */
const groups: readonly (readonly Step[])[] = [
  [
    {
      name: 'format and lint',
      command: ['biome', 'ci', '--colors=off', '.'],
      counted: /Checked (\d+) files?/,
      unit: 'files',
    },
    {
      // It installs the packages of the console, to which the types and imports of its tests refer.
      name: 'console',
      command: [process.execPath, 'scripts/check-console.ts'],
      counted: /first load: (\d+) scripts?/,
      unit: 'scripts',
    },
  ],
  [
    {
      name: 'types',
      // Version 7 for speed; dependency-cruiser and words.ts need the interface of version 6.
      command: [process.execPath, 'node_modules/typescript-7/bin/tsc', '-p', '.', '--listFiles'],
      counted: /./,
      count: output =>
        output.split('\n').filter(line => line.startsWith(root) && !line.includes('node_modules')).length,
      unit: 'files',
    },
    {
      name: 'import directions',
      command: [
        'depcruise',
        'src',
        'web/src',
        'web/build',
        'test',
        'bench',
        'scripts',
        '--config',
        '.dependency-cruiser.cjs',
      ],
      counted: /(\d+) modules/,
      unit: 'modules',
    },
    {
      name: 'API reference',
      command: [process.execPath, 'test/api-reference/lint.ts'],
      counted: /(\d+) operations/,
      unit: 'operations',
    },
    { name: 'dead code', command: ['knip', '--performance'], counted: /parseFile\s+(\d+)/, unit: 'modules' },
    { name: 'words', command: [process.execPath, 'scripts/words.ts'], counted: /(\d+) texts/, unit: 'texts' },
  ],
  [
    {
      name: 'tests',
      command: [process.execPath, 'scripts/bootstrap.mjs', 'scripts/test.ts'],
      counted: /^ℹ tests (\d+)/m,
      unit: 'tests',
    },
  ],
]

process.exitCode = await main()

async function main(): Promise<number> {
  const results: Result[] = []
  for (const group of groups) {
    results.push(...(await Promise.all(group.map(step => run(step, group.length === 1)))))
    if (results.some(({ isGreen }) => !isGreen)) break
  }
  process.stdout.write(`\n${results.map(line).join('\n')}\n`)
  return results.length === groups.flat().length && results.every(({ isGreen }) => isGreen) ? 0 : 1
}

function line({ step, isGreen, examined, seconds }: Result): string {
  const verdict = isGreen ? 'ok    ' : examined === 0 ? 'NOTHING EXAMINED' : 'FAILED'
  return `${verdict} ${step.name.padEnd(18)} ${String(examined).padStart(5)} ${step.unit.padEnd(8)} ${seconds.toFixed(0)} s`
}

/** Runs a step. `isLive`: its output is shown as it comes, else when it has ended. */
async function run(step: Step, isLive: boolean): Promise<Result> {
  const startedAt = performance.now()
  if (isLive) process.stdout.write(`\n== ${step.name}\n`)
  const { code, output } = await outputOf(step, isLive)
  if (!isLive) process.stdout.write(`\n== ${step.name}\n${shownOf(step, output)}`)
  const matched = step.counted.exec(output)
  const examined = step.count ? step.count(output) : Number(matched?.[1] ?? 0)
  return { step, isGreen: code === 0 && examined > 0, examined, seconds: (performance.now() - startedAt) / 1000 }
}

/** Returns what is shown of an output: the list of files of the compiler is only counted. */
function shownOf({ name }: Step, output: string): string {
  return name === 'types' ? output.replaceAll(/^(?!.*error TS).*\n?/gm, '') : output
}

function outputOf(
  { command: [program = '', ...args] }: Step,
  isLive: boolean,
): Promise<{ code: number; output: string }> {
  const path = [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter)
  const child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, PATH: path, FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const take = (chunk: Buffer) => {
    output += chunk
    if (isLive) process.stdout.write(chunk)
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  return new Promise(resolve => child.on('close', code => resolve({ code: code ?? 1, output })))
}
