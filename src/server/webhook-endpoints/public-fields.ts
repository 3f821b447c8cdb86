import { createHash } from 'node:crypto'
import { type EndpointRow, toEndpoint } from './endpoint-store.ts'

/** What the audit log keeps of an endpoint. The path of an address is often a secret: it is told by its digest. */
export const publicFields = (row: EndpointRow) => {
  const { id: _id, url, created_at: _created, updated_at: _updated, ...fields } = toEndpoint(row)
  const sha256 = createHash('sha256').update(url).digest('hex')
  return { ...fields, url: { origin: new URL(url).origin, sha256 } }
}
