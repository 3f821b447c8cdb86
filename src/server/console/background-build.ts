import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Config } from '../config/config.ts'
import { startChild } from '../platform/child-process.ts'
import type { Log } from '../platform/log.ts'
import { webFolder } from './build-list.ts'
import { readStored, type StoredStatus, statusFileOf } from './build-status.ts'

/** Last line that the program of a build prints. */
export type BuildOutcome =
  | { readonly outcome: 'current' }
  | { readonly outcome: 'built'; readonly seconds: number }
  | { readonly outcome: 'failed'; readonly reason: string; readonly next: string; readonly details: string }

/** The build of the console, in a separate process. */
export interface BackgroundBuild {
  /** Kills the process with all programs that it runs. */
  stop(): void
  /** Resolves when the process has exited and its outcome is logged. */
  readonly done: Promise<void>
}

interface Options {
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>
  /** Folder with the sources of the console. */
  readonly folder?: string
}

const program = join(import.meta.dirname, '..', '..', '..', 'scripts', 'build-console.ts')
const noBuild: BackgroundBuild = { stop() {}, done: Promise.resolve() }

/** Builds the console if this process should have one. Only the process that owns the port calls it. */
export function buildInBackground({ console: isOn, role }: Pick<Config, 'console' | 'role'>, log: Options['log']) {
  return isOn && role !== 'worker' ? startBackgroundBuild({ log }) : noBuild
}

/**
 * Installs and builds the console with low priority if its sources have changed since its last build. Does nothing in a
 * package without the sources, which contains a build.
 */
export function startBackgroundBuild({ log, folder = webFolder }: Options): BackgroundBuild {
  if (!existsSync(join(folder, 'package.json'))) return noBuild
  let isStopped = false
  let child: ChildProcess
  try {
    // A separate process group, so that npm and Vite stop with it.
    child = startChild(process.execPath, [program, folder, '--background'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
  } catch (error) {
    log.warn({ err: error }, 'cannot build the console; restart the service to try again')
    return noBuild
  }
  return {
    stop() {
      isStopped = true
      killGroup(child)
    },
    done: outcomeOf(child).then(async ended => {
      if (isStopped) return
      logOutcome(ended, log)
      if (ended.outcome === 'failed') await storeFailure(folder, ended)
    }),
  }
}

function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has just exited.
  }
}

async function outcomeOf(child: ChildProcess): Promise<BuildOutcome> {
  const exit = new Promise<string>(resolve => {
    child.once('error', error => resolve(error.message))
    child.once('close', (code, signal) => resolve(`exited with ${signal ?? `code ${code}`}`))
  })
  const [stdout, stderr] = await Promise.all([child.stdout, child.stderr].map(pipe => (pipe ? text(pipe) : '')))
  const exited = await exit
  try {
    return JSON.parse(stdout?.trim().split('\n').at(-1) ?? '') as BuildOutcome
  } catch {
    const details = `${exited}: ${stderr?.trim().slice(-2_000) ?? ''}`
    const reason = 'the program that builds the console ended unexpectedly'
    return { outcome: 'failed', reason, next: 'restart the service to try again', details }
  }
}

function logOutcome(ended: BuildOutcome, log: Options['log']): void {
  switch (ended.outcome) {
    case 'current':
      log.debug('the build of the console is current')
      break
    case 'built':
      log.info({ seconds: ended.seconds }, 'built the console')
      break
    case 'failed':
      log.warn({ details: ended.details }, `cannot build the console: ${ended.reason}; ${ended.next}`)
  }
}

/** Stores a failure that the program could not store itself. */
async function storeFailure(folder: string, { reason, next }: { reason: string; next: string }): Promise<void> {
  const file = statusFileOf(folder)
  const failure: StoredStatus = { step: 'failed', reason, next }
  try {
    if ((await readStored(folder))?.step === 'failed') return
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, JSON.stringify(failure))
  } catch {
    // The page then checks itself whether the folder can be written.
  }
}
