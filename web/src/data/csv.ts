import { ApiError } from '../../../src/client/index.ts'
import { stringifySearch } from '../parts/address.ts'
import { consoleFetch } from './client.ts'

/** Returns all rows of a list of the service as CSV. Rejects with ApiError. */
export async function fetchCsv(path: string, filters: Readonly<Record<string, string | undefined>>): Promise<string> {
  const response = await consoleFetch(`${path}${stringifySearch({ ...filters, format: 'csv' })}`)
  const text = await response.text()
  if (response.ok) return text
  const requestId = response.headers.get('request-id') ?? undefined
  throw new ApiError(messageIn(text) ?? `service returned ${response.status}`, { status: response.status, requestId })
}

/** Returns the message of an error in the nested shape. */
function messageIn(text: string): string | undefined {
  try {
    const body: { readonly error?: { readonly message?: unknown } } = JSON.parse(text)
    return typeof body.error?.message === 'string' ? body.error.message : undefined
  } catch {
    return undefined
  }
}
