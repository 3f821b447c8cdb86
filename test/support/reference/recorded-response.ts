import { sampleId } from '../../../src/contract/examples/example.ts'
import type { Service } from '../service/service.ts'

const time = '2026-01-15T09:30:00.000Z'
const timeMs = Date.parse(time)
const maxTextLength = 400
const maxItems = 2

/**
 * Returns a response as the API reference shows it: sample ids, one time for all times, the first items of lists, and no address or
 * folder of the machine.
 */
export function asRecorded(response: unknown, ids: ReadonlyMap<string, string>, service: Service): unknown {
  let text = JSON.stringify(response)
  for (const [placeholder, id] of ids) if (id.length > 8) text = text.replaceAll(id, sampleId(placeholder))
  text = text.replaceAll(service.url, 'http://localhost:4000').replaceAll(service.dataDir, '/var/lib/switchyard')
  return settled(JSON.parse(withSampleIds(text)))
}

/** Numbers the remaining ids in order, and replaces what only its creator may see. */
function withSampleIds(text: string): string {
  const ids = new Map<string, string>()
  const numbered = (id: string): string => {
    const known = ids.get(id) ?? String(ids.size + 1).padStart(10, '0')
    ids.set(id, known)
    return known
  }
  return text
    .replaceAll(/sk-[A-Za-z0-9]{20,}/g, 'sk-sample-0123456789')
    .replaceAll(/"prefix":"sk-\w+"/g, '"prefix":"sk-samp"')
    .replaceAll(/whsec_[A-Za-z0-9+/=]+/g, 'whsec_c2FtcGxlLXNlY3JldA==')
    .replaceAll(/"ticket":"[^"]+"/g, '"ticket":"sample-ticket"')
    .replaceAll(/(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])/g, numbered)
}

function settled(value: unknown, name = ''): unknown {
  if (typeof value === 'number') return settledNumber(value, name)
  if (typeof value === 'string') return settledText(value)
  if (Array.isArray(value)) return value.slice(0, maxItems).map(item => settled(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, settled(member, key)]))
}

function settledText(text: string): string {
  const timed = text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, time)
  return timed.length > maxTextLength ? `${timed.slice(0, maxTextLength)} …` : timed
}

function settledNumber(value: number, name: string): number {
  if (value > 1.7e12 && value < 2e12) return timeMs
  if (value > 1.7e9 && value < 2e9) return timeMs / 1000
  return name.endsWith('_ms') ? 12 : value
}

/**
 * True when two responses have the same names, at the top and in the first items of lists. Inner objects may differ: some of their
 * fields appear only once the usage of a run is booked.
 */
export function hasSameNames(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === 0 || other.length === 0 || hasSameNames(one[0], other[0])
  if (!isRecord(one) || !isRecord(other)) return isRecord(one) === isRecord(other)
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every(name => name in other && (isRecord(one[name]) || hasSameNames(one[name], other[name])))
  )
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
