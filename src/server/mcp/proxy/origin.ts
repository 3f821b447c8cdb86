import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../../platform/errors.ts'

/** Throws `forbidden` for a request of a web page that is not served from this service. Security: S42. */
export function rejectForeignOrigin({ origin, host }: IncomingHttpHeaders, publicUrl: () => string): void {
  if (origin === undefined || origin === new URL(publicUrl()).origin) return
  if (host !== undefined && URL.parse(origin)?.host === host.toLowerCase()) return
  throw new AppError(
    'forbidden',
    'header Origin is not an origin of this service; omit it, or set general_settings.public_url',
  )
}
