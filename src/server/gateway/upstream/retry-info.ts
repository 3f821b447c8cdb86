import { jsonOr, recordOf, recordsOf, textOf } from '../../platform/json.ts'

const detailType = Buffer.from('google.rpc.RetryInfo')
/** Seconds, with up to nine digits after the point. */
const duration = /^(\d{1,9}(?:\.\d{1,9})?)s$/

/**
 * Returns the value of `retry-after`, whole seconds, for an error of Google that states its wait in the body instead;
 * undefined for any other body. Source: `google.rpc.RetryInfo`.
 */
export function statedRetryAfter(body: Buffer): string | undefined {
  if (!body.includes(detailType)) return undefined
  const parsed = jsonOr(body.toString(), undefined)
  const { error } = recordOf(Array.isArray(parsed) ? parsed[0] : parsed)
  const info = recordsOf(recordOf(error)['details']).find(({ retryDelay }) => duration.test(textOf(retryDelay)))
  const seconds = duration.exec(textOf(info?.['retryDelay']))?.[1]
  return seconds === undefined ? undefined : String(Math.ceil(Number(seconds)))
}
