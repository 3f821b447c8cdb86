import type { WebhookCondition } from '../../contract/webhooks.ts'
import { type Headers, headerOf } from './headers.ts'
import { storable, valueAt } from './template.ts'

/** What conditions look at. */
export interface Seen {
  readonly headers: Headers
  readonly payload: unknown
}

const eventHeaders = ['x-github-event', 'x-gitlab-event', 'x-shopify-topic', 'linear-event', 'x-event-type']
const eventFields = ['type', 'event', 'event_type']
const maxNameLength = 200

/** What the sender calls the event, with its action behind a dot where it has one; undefined when it says neither. */
export function eventOf({ headers, payload }: Seen): string | undefined {
  const named = [
    ...eventHeaders.map(name => headerOf(headers, name)),
    ...eventFields.map(name => valueAt(payload, name)),
  ].find(name => typeof name === 'string' && name.trim() !== '')
  if (typeof named !== 'string') return undefined
  const action = valueAt(payload, 'action')
  const full = typeof action === 'string' && action !== '' ? `${named}.${action}` : named
  return storable(full.slice(0, maxNameLength))
}

/**
 * The condition that keeps a delivery out, in words; undefined lets it in. Of the names of events one must fit, and of
 * the other conditions all must hold.
 */
export function reasonToSkip(conditions: readonly WebhookCondition[], seen: Seen): string | undefined {
  const names = conditions.filter(condition => typeof condition === 'string')
  const event = eventOf(seen)
  if (names.length > 0 && !names.some(name => isEvent(event, name))) {
    return `the event ${event === undefined ? 'has no name' : JSON.stringify(event)}; wanted: ${names.join(', ')}`
  }
  for (const condition of conditions) {
    if (typeof condition === 'string') continue
    const [kind, name] = 'header' in condition ? ['header', condition.header] : ['field', condition.field]
    const value = 'header' in condition ? headerOf(seen.headers, name) : valueAt(seen.payload, name)
    if (!holds(condition, value)) return `the ${kind} ${name} is not as wanted`
  }
  return undefined
}

/** The headers that conditions ask for. */
export const headersIn = (conditions: readonly WebhookCondition[]): string[] =>
  conditions.flatMap(condition => (typeof condition !== 'string' && 'header' in condition ? [condition.header] : []))

/** `issues` fits `issues.opened` too. */
const isEvent = (event: string | undefined, name: string): boolean =>
  event !== undefined && (event === name || event.startsWith(`${name}.`))

function holds(condition: Exclude<WebhookCondition, string>, value: unknown): boolean {
  const { in: wanted, not_in: unwanted, exists } = condition
  const isThere = value !== undefined
  const isOneOf = (values: readonly unknown[]) => values.some(each => each === plain(value))
  if (exists !== undefined && exists !== isThere) return false
  if (wanted && !isOneOf(wanted)) return false
  if (unwanted && isOneOf(unwanted)) return false
  // Alone, a name asks that there is such a thing.
  return exists !== undefined || wanted !== undefined || unwanted !== undefined || isThere
}

/** A number that kept its digits is compared as a number. */
const plain = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'rawJSON' in value && Object.isFrozen(value)
    ? Number(value.rawJSON)
    : value
