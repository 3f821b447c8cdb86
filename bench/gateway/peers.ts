// Other gateways, as their documents say to run them. Their packages are installed when they are asked for.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/support/service/free-port.ts'
import { type Kind, kinds, messagesBaseOf } from '../exchange.ts'
import { bindLifetime } from '../program.ts'
import { chatBaseOf } from './chat-exchange.ts'
import type { Running, Setting } from './running.ts'

const packages = join(import.meta.dirname, '..', 'peers')
const modules = join(packages, 'node_modules')
const key = 'sk-bench-0123456789abcdef'
const readyMs = 60_000
const lookMs = 50

/** Installs the peers from their lockfile unless they are there. Undefined, or why it did not work. */
export function installPeers(): string | undefined {
  const modifiedAt = (file: string): number => (existsSync(file) ? statSync(file).mtimeMs : 0)
  const isInstalled = modifiedAt(join(modules, '.package-lock.json')) >= modifiedAt(join(packages, 'package-lock.json'))
  if (isInstalled) return undefined
  const { status, stderr, error } = spawnSync(
    'npm',
    ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    { cwd: packages, stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' },
  )
  return status === 0 ? undefined : `the peers could not be installed: ${error?.message ?? stderr.trim()}`
}

/** Exact versions of what runs, by package. */
export function peerVersions(): Record<string, string> {
  const names = ['@portkey-ai/gateway', '@hono/node-server', '@musistudio/claude-code-router']
  return Object.fromEntries(
    names.map(name => {
      const file = join(modules, name, 'package.json')
      return [name, existsSync(file) ? String(JSON.parse(readFileSync(file, 'utf8')).version) : 'not installed']
    }),
  )
}

/** Portkey's gateway without its console; it learns from headers where a call goes. */
export async function startPortkey({ upstream, folder }: Setting): Promise<Running> {
  const port = await freePort()
  const peer = await startPeer({
    script: '@portkey-ai/gateway/build/start-server.js',
    args: ['--headless', `--port=${port}`],
    env: { TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },

    home: await newHome(folder),
    probe: `http://127.0.0.1:${port}/`,
  })
  const origin = `http://127.0.0.1:${port}`
  const headersOf = (kind: Kind) => ({
    'x-api-key': key,
    'x-portkey-provider': 'anthropic',
    'x-portkey-custom-host': `${upstream}${messagesBaseOf(kind)}/v1`,
  })
  const path = '/v1/messages'
  return { ...peer, endpoint: kind => ({ origin, path, model: `bench/${kind}`, headers: headersOf(kind) }) }
}

/** claude-code-router without its log; a provider for each kind of call, since it keeps nothing else of the model. */
export async function startClaudeCodeRouter({ upstream, folder }: Setting): Promise<Running> {
  const port = await freePort()
  const home = await newHome(folder)
  const settings = join(home, '.claude-code-router')
  await mkdir(settings)
  const config = {
    LOG: false,
    HOST: '127.0.0.1',
    PORT: port,
    APIKEY: key,
    NON_INTERACTIVE_MODE: true,
    Providers: kinds.map(kind => ({
      name: kind,
      api_base_url: `${upstream}${chatBaseOf(kind)}/chat/completions`,
      api_key: 'sk-upstream-0123',
      models: ['bench'],
    })),
    Router: { default: 'json,bench' },
  }
  await writeFile(join(settings, 'config.json'), JSON.stringify(config))
  const peer = await startPeer({
    script: '@musistudio/claude-code-router/dist/cli.js',
    args: ['start'],
    env: {},

    home,
    probe: `http://127.0.0.1:${port}/health`,
  })
  const origin = `http://127.0.0.1:${port}`
  const headers = { 'x-api-key': key }
  return { ...peer, endpoint: kind => ({ origin, path: '/v1/messages', model: `${kind},bench`, headers }) }
}

const newHome = (folder: string): Promise<string> => mkdtemp(join(folder, 'peer-'))

interface Start {
  /** Below the peers' modules. */
  readonly script: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly home: string
  /** An address that answers once it is ready. */
  readonly probe: string
}

async function startPeer({ script, args, env, home, probe }: Start): Promise<Pick<Running, 'pid' | 'stop'>> {
  const log = join(home, 'output.log')
  const output = openSync(log, 'w')
  const child = spawn(process.execPath, [join(modules, script), ...args], {
    cwd: home,
    env: { PATH: process.env['PATH'], HOME: home, TMPDIR: home, NODE_ENV: 'production', ...env },
    stdio: ['ignore', output, output],
  })
  bindLifetime(child)
  try {
    await untilReady(child, probe)
  } catch (error) {
    child.kill('SIGKILL')
    throw new Error(`${String(error)}: ${readFileSync(log, 'utf8').trim().slice(-500)}`)
  }
  return { pid: child.pid, stop: () => killed(child) }
}

async function untilReady(child: ChildProcess, probe: string): Promise<void> {
  const deadline = performance.now() + readyMs
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`)
    const isReady = await fetch(probe, { signal: AbortSignal.timeout(1_000) }).then(
      () => true,
      () => false,
    )
    if (isReady) return
    await sleep(lookMs)
  }
  throw new Error(`it was not ready within ${readyMs / 1_000} s`)
}

/** Neither peer has anything to end in order. */
async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
