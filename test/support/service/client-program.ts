import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after } from 'node:test'

const installed = join(import.meta.dirname, '../../clients/node_modules')

const programs = {
  'Claude Code': [join(installed, '@anthropic-ai/claude-code/bin/claude.exe')],
  'Gemini CLI': [process.execPath, join(installed, '@google/gemini-cli/bundle/gemini.js')],
  Codex: [process.execPath, join(installed, '@openai/codex/bin/codex.js')],
  bash: ['/bin/bash'],
  'Cursor SDK': [process.execPath, join(import.meta.dirname, '../cursor/cursor-sdk-main.ts')],
  opencode: [join(installed, 'opencode-linux-x64-baseline/bin/opencode')],
} as const

interface Run {
  readonly args: readonly string[]
  /** On top of what every program gets. */
  readonly env: Readonly<Record<string, string>>
}

interface End {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A real program that talks to the service, with its own folders, which are removed after the last test of the file. */
export async function clientProgram(name: keyof typeof programs): Promise<{
  /** Where it keeps what it knows. */
  readonly home: string
  /** Where it works. */
  readonly work: string
  /** What is run. */
  readonly file: string
  /** Runs it to its end, a minute at most. Nothing that it starts outlives that. Throws when it is not installed. */
  run(run: Run): Promise<End>
}> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'switchyard-client-')))
  const [work, temporary] = [join(home, 'work'), join(home, 'tmp')]
  await Promise.all([mkdir(work), mkdir(temporary)])
  after(() => rm(home, { recursive: true, force: true, maxRetries: 5 }))
  const [file, ...script] = programs[name]
  return {
    home,
    work,
    file: script.at(-1) ?? file,
    run({ args, env }) {
      const path = script.at(-1) ?? file
      if (!existsSync(path))
        throw new Error(`${name} is missing at ${path}: run "npm ci" in test/clients (install scripts must be allowed)`)
      const base = { PATH: process.env['PATH'] ?? '', HOME: home, TMPDIR: temporary, ...loopbackAlone }
      return ended(file, { args: [...script, ...args], env: { ...base, ...env }, cwd: work })
    },
  }
}

/** A proxy address without a server: whatever is not on this machine fails at once. */
const nowhere = 'http://127.0.0.1:9'
const loopbackAlone = {
  HTTP_PROXY: nowhere,
  HTTPS_PROXY: nowhere,
  http_proxy: nowhere,
  https_proxy: nowhere,
  NO_PROXY: '127.0.0.1,localhost',
  no_proxy: '127.0.0.1,localhost',
}

async function ended(file: string, { args, ...options }: Run & { readonly cwd: string }): Promise<End> {
  // A separate process group, so that its children end with it.
  const child = spawn(file, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const endGroup = () => {
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // The group has no process left.
    }
  }
  const impatience = setTimeout(endGroup, 180_000)
  process.once('exit', endGroup)
  child.once('exit', endGroup)
  try {
    const [stdout, stderr, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve)),
    ])
    return { code, stdout, stderr }
  } finally {
    clearTimeout(impatience)
    process.off('exit', endGroup)
  }
}
