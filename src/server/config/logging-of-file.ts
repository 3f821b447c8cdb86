import type { RequestLogSettings } from '../platform/request-log.ts'
import type { ConfigFile, Place } from './file.ts'

const levels = ['off', 'trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

interface Reading {
  readonly file: ConfigFile
  readonly report: (text: string, place?: Place) => void
}

/** Returns the settings of the block `logging`. By default every request is logged at `info`. */
export function loggingOfFile({ file, report }: Reading): RequestLogSettings {
  const { requests = 'info', sample = 1 } = file.value.logging ?? {}
  const level = levels.find(name => name === requests)
  if (level === undefined)
    report(`logging.requests must be one of ${levels.join(', ')}`, file.place(['logging', 'requests']))
  if (sample > 1) report('logging.sample must be a number from 0 to 1', file.place(['logging', 'sample']))
  return { level: level ?? 'info', sample }
}
