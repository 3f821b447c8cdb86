import { parseArgs } from 'node:util'
import { dataDirOf } from '../server/config/data-dir.ts'
import { findRunning } from '../server/running.ts'
import type { ServerInputs } from './local-service.ts'

/** Options of `serve` that take a value, so that the value is not read as the command. */
const withValue = { type: 'string' } as const
const options = {
  url: withValue,
  key: withValue,
  config: withValue,
  'data-dir': withValue,
  port: withValue,
  host: withValue,
}

/**
 * Returns an error message when `serve` must not start, because a service already uses its data folder. Undefined
 * otherwise, for other commands, and with `DATABASE_URL`, since replicas may share a folder. Imports little code, so
 * that it is fast.
 */
export async function secondStart(args: readonly string[], env: ServerInputs['env']): Promise<string | undefined> {
  const { values, positionals } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true })
  if (positionals[0] !== 'serve' || values['help'] || env['DATABASE_URL']?.trim()) return undefined
  const dataDir = values['data-dir']
  const folder = dataDirOf({ env, overrides: typeof dataDir === 'string' ? { dataDir } : {} })
  const [running] = await findRunning(folder)
  if (!running) return undefined
  const { url, pid } = running
  return `already running at ${url} (process ${pid}); stop it first, or set another folder with --data-dir and another port with --port`
}
