import { type Degradation, degradedHeader } from '../translated/degradations.ts'

/**
 * The value of `x-switchyard-degraded` for what a conversion found, with the pairs that `inner`, a value of the same
 * header, holds already; undefined without any.
 */
export function mergedDegradedHeader(found: readonly Degradation[], inner: string | undefined): string | undefined {
  if (found.length === 0) return inner
  const parts = inner?.split(', ') ?? []
  const more = parts.reduce((sum, part) => sum + (/^\+\d+$/.test(part) ? Number(part) : 0), 0)
  const pairs = parts.filter(part => !part.startsWith('+')).map(pairIn)
  const header = degradedHeader([...found, ...pairs]) ?? ''
  if (more === 0) return header
  const ownMore = /(?:^|, )\+(\d+)$/.exec(header)
  const shown = ownMore ? header.slice(0, ownMore.index) : header
  return `${shown}${shown === '' ? '' : ', '}+${more + Number(ownMore?.[1] ?? 0)}`
}

function pairIn(part: string): Degradation {
  const at = part.lastIndexOf('=')
  return { path: part.slice(0, at), action: part.slice(at + 1) }
}
