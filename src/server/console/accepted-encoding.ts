import { type Encoding, encodings } from './build-list.ts'

/** Returns the encoding to send: the first that exists and that `accept-encoding` allows; undefined for none. */
export function acceptedEncoding(header: string | undefined, existing: ReadonlySet<string>): Encoding | undefined {
  const weights = new Map((header ?? '').split(',').map(weightOf))
  const isAllowed = (name: string) => (weights.get(name) ?? weights.get('*') ?? 0) > 0
  return (Object.keys(encodings) as Encoding[]).find(name => existing.has(name) && isAllowed(name))
}

function weightOf(entry: string): readonly [name: string, weight: number] {
  const [name = '', ...parameters] = entry.split(';').map(part => part.trim().toLowerCase())
  const quality = parameters.find(part => part.startsWith('q='))
  return [name, quality === undefined ? 1 : Number(quality.slice(2))]
}
