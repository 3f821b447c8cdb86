import { createHash } from 'node:crypto'
import { type EndpointRow, toEndpoint } from './endpoint-store.ts'

/**
 * Fields of an endpoint for the audit log. The URL path is often a secret, so the URL is recorded as origin and digest.
 */
export const publicFields = (row: EndpointRow) => {
  const { id: _id, url, created_at: _created, updated_at: _updated, ...fields } = toEndpoint(row)
  const sha256 = createHash('sha256').update(url).digest('hex')
  return { ...fields, url: { origin: new URL(url).origin, sha256 } }
}
