import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after } from 'node:test'
import { writeCommand } from '../service/program.ts'
import { type Service, startService } from '../service/service.ts'
import { startEndpointUpstream } from '../upstream/endpoint-upstream.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const maxRunMs = 240_000

/** One fenced block of a page. */
export interface PageBlock {
  readonly page: string
  readonly line: number
  readonly language: string
  readonly code: string
  /** The line of the page above the block that states why CI does not run it. */
  readonly mark: string | undefined
}

/** Returns the fenced blocks of a page, in order. */
export function blocksOf(page: string, text: string): PageBlock[] {
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(found => {
    const [, language = '', code = ''] = found
    const before = text.slice(0, found.index).trimEnd().split('\n')
    const paragraph = before.slice(before.findLastIndex(line => line.trim() === '') + 1)
    const mark = paragraph[0]?.startsWith('> Not run in CI') ? paragraph.join(' ') : undefined
    return { page, line: text.slice(0, found.index).split('\n').length, language, code, mark }
  })
}

/** Blocks that a reader runs: shell commands and programs. */
export const isCommand = ({ language }: PageBlock): boolean => ['sh', 'console', 'js', 'ts'].includes(language)

export const shownAs = ({ page, line }: PageBlock): string => `${page}:${line}`

/** Returns GitHub's anchors of all headings of a page. */
export const anchorsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-'),
  )

interface PageRun {
  readonly code: number | null
  readonly output: string
}

/**
 * Starts one service for all pages, and an upstream in place of every host below example.com. Both stop after the
 * last test of the file.
 */
export async function pageShell(): Promise<{ run(blocks: readonly PageBlock[]): Promise<PageRun> }> {
  const upstream = await startEndpointUpstream()
  upstream.answer(({ url }) => ({ body: JSON.stringify(url.endsWith('/models') ? { object: 'list', data: [] } : {}) }))
  after(() => upstream.stop())
  const service = await startService({
    config: JSON.stringify({ outbound: { allow: [new URL(upstream.url).host] } }),
  })
  const replaced = (script: string) => script.replaceAll(/https:\/\/[\w-]+\.example\.com/g, upstream.url)
  return { run: blocks => runBlocks(blocks, { service, replaced }) }
}

/** A response with status 400 or higher ends the script, as a failed command does. */
const strict = 'curl() { command curl --fail-with-body "$@"; }'

interface RunOptions {
  readonly service: Service
  /** Puts addresses of the test in place of those of the page. */
  readonly replaced: (script: string) => string
  /** Variables besides those that every page gets. */
  readonly env?: Readonly<Record<string, string>>
  /** Time after which the script is ended; 90,000 by default. */
  readonly maxMs?: number
}

/** Runs the command blocks of a page as one script, from top to bottom, until one fails. */
export async function runBlocks(
  blocks: readonly PageBlock[],
  { service, replaced, env, maxMs = maxRunMs }: RunOptions,
): Promise<PageRun> {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-page-'))
  const bin = join(folder, 'bin')
  await mkdir(bin)
  await writeCommand(bin)
  // This one is installed under the name of its build.
  await symlink(join(clients, 'opencode-linux-x64-baseline/bin/opencode'), join(bin, 'opencode'))
  const script = replaced([strict, 'mkdir ~/work && cd ~/work', ...blocks.map(scriptOf)].join('\n'))
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: root,
    env: { ...environmentOf(service, folder), ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => output.push(String(chunk)))
  const tooLong = setTimeout(() => process.kill(-Number(child.pid), 'SIGKILL'), maxMs)
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, output: output.join('') }
  } finally {
    clearTimeout(tooLong)
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Programs run where the packages of this repository are found. */
function scriptOf({ language, code, ...block }: PageBlock): string {
  const shown = `printf '\\n== %s\\n' ${shownAs({ language, code, ...block })} >&2`
  const isProgram = language === 'js' || language === 'ts'
  return `${shown}\n${isProgram ? `(cd ${root} && node --input-type=module - <<'PROGRAM'\n${code}PROGRAM\n)` : code}`
}

/** A proxy at which no program listens: a request to another machine fails at once. */
const nowhere = 'http://127.0.0.1:9'
const clients = join(root, 'test', 'clients', 'node_modules')

const environmentOf = ({ url, key, databaseUrl, dataDir }: Service, home: string) => ({
  PATH: [join(home, 'bin'), dirname(process.execPath), join(clients, '.bin'), process.env['PATH']].join(':'),
  HOME: home,
  HTTP_PROXY: nowhere,
  HTTPS_PROXY: nowhere,
  http_proxy: nowhere,
  https_proxy: nowhere,
  NO_PROXY: '127.0.0.1,localhost',
  no_proxy: '127.0.0.1,localhost',
  SWITCHYARD_URL: url,
  SWITCHYARD_KEY: key,
  GATEWAY_MASTER_KEY: key,
  // What a shell on the machine of the service has.
  DATABASE_URL: databaseUrl,
  SWITCHYARD_DATA_DIR: dataDir,
  SWITCHYARD_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  // Accounts that no block may use beyond storing them.
  ANTHROPIC_API_KEY: 'sk-ant-sample-0123456789',
  OPENAI_API_KEY: 'sk-sample-0123456789',
})
