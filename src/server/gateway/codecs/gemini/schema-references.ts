import { isRecord, type Json } from '../../../platform/json.ts'

/** The references that are being put in place, from the outside in. */
export type References = readonly string[]

export interface Expanded {
  readonly node: Json
  readonly seen: References
  /** True when a reference led nowhere. */
  readonly isLossy: boolean
}

/** Of references and `allOf` within each other. */
const maxSteps = 200

/**
 * A node with its `$ref` and `allOf` put in place, alternatives left alone. Undefined when a reference leads back into
 * itself.
 */
export function expanded(node: Json, seen: References, root: unknown): Expanded | undefined {
  const followed = withReferences(node, seen, root)
  if (!followed) return undefined
  const { allOf, ...own } = followed.node
  if (!Array.isArray(allOf)) return followed
  let merged: Expanded = { ...followed, node: own, seen: [...followed.seen, 'allOf'] }
  for (const part of allOf.filter(isRecord)) {
    const open = merged.seen.length > maxSteps ? undefined : expanded(part, merged.seen, root)
    if (!open) return undefined
    const isLossy = merged.isLossy || open.isLossy
    merged = { node: both(merged.node, open.node), seen: open.seen, isLossy }
  }
  return merged
}

/** The alternatives of a node. */
export function unionOf({ anyOf, oneOf }: Json): readonly Json[] {
  const branches = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : []
  return branches.filter(isRecord)
}

function withReferences(node: Json, seen: References, root: unknown): Expanded | undefined {
  let open: Expanded = { node, seen, isLossy: false }
  while (typeof open.node['$ref'] === 'string') {
    const { $ref: reference, ...own } = open.node
    if (open.seen.includes(reference)) return undefined
    const target = pointed(reference, root)
    if (!target) return { ...open, node: own, isLossy: true }
    open = { node: { ...target, ...own }, seen: [...open.seen, reference], isLossy: open.isLossy }
  }
  return open
}

/** The schema that a reference such as `#/$defs/Name` names inside of `root`. */
function pointed(reference: string, root: unknown): Json | undefined {
  if (!reference.startsWith('#')) return undefined
  let found: unknown = root
  for (const step of reference.slice(1).split('/').slice(1)) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
    found =
      typeof found === 'object' && found !== null && Object.hasOwn(found, name) ? Reflect.get(found, name) : undefined
  }
  return isRecord(found) ? found : undefined
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    // A lone percent sign stands for itself.
    return step
  }
}

/** What holds when both schemas hold, as far as one node can say it. */
function both(first: Json, second: Json): Json {
  const properties = { ...recordOf(second['properties']), ...recordOf(first['properties']) }
  const required = [...listOf(first['required']), ...listOf(second['required'])]
  return {
    ...second,
    ...first,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  }
}

const recordOf = (value: unknown): Json => (isRecord(value) ? value : {})
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
