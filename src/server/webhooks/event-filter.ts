import type { WebhookCondition } from '../../contract/webhooks.ts'
import { type Headers, headerOf } from './headers.ts'
import { storable, valueAt } from './template.ts'

/** Parts of a delivery that conditions check. */
export interface FilterInput {
  readonly headers: Headers
  readonly payload: unknown
}

const eventHeaders = ['x-github-event', 'x-gitlab-event', 'x-shopify-topic', 'linear-event', 'x-event-type']
const eventFields = ['type', 'event', 'event_type']
const maxNameLength = 200

/**
 * Returns the event name, followed by a dot and the action if there is one; undefined when the sender does not name it.
 */
export function eventOf({ headers, payload }: FilterInput): string | undefined {
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
 * Returns why the conditions skip a delivery; undefined accepts it. One of the event names must match, and all other
 * conditions must hold.
 */
export function reasonToSkip(conditions: readonly WebhookCondition[], input: FilterInput): string | undefined {
  const names = conditions.filter(condition => typeof condition === 'string')
  const event = eventOf(input)
  if (names.length > 0 && !names.some(name => isEvent(event, name))) {
    return `event ${event === undefined ? 'has no name' : JSON.stringify(event)}; accepted: ${names.join(', ')}`
  }
  for (const condition of conditions) {
    if (typeof condition === 'string') continue
    const [kind, name] = 'header' in condition ? ['header', condition.header] : ['field', condition.field]
    const value = 'header' in condition ? headerOf(input.headers, name) : valueAt(input.payload, name)
    if (!isMet(condition, value)) return `${kind} ${name} does not meet its condition`
  }
  return undefined
}

/** Returns the headers that conditions refer to. */
export const headersIn = (conditions: readonly WebhookCondition[]): string[] =>
  conditions.flatMap(condition => (typeof condition !== 'string' && 'header' in condition ? [condition.header] : []))

/** True also for `issues` and the event `issues.opened`. */
const isEvent = (event: string | undefined, name: string): boolean =>
  event !== undefined && (event === name || event.startsWith(`${name}.`))

function isMet(condition: Exclude<WebhookCondition, string>, value: unknown): boolean {
  const { in: accepted, not_in: rejected, exists } = condition
  const isPresent = value !== undefined
  const isOneOf = (values: readonly unknown[]) => values.some(each => each === plain(value))
  if (exists !== undefined && exists !== isPresent) return false
  if (accepted && !isOneOf(accepted)) return false
  if (rejected && isOneOf(rejected)) return false
  // A condition with only a name requires that the value exists.
  return exists !== undefined || accepted !== undefined || rejected !== undefined || isPresent
}

/** Converts a raw JSON number to a number for the comparison. */
const plain = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'rawJSON' in value && Object.isFrozen(value)
    ? Number(value.rawJSON)
    : value
