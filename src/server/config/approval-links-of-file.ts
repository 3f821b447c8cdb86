import type { ApprovalLinkPlace } from './config.ts'
import type { ConfigFile, Place } from './file.ts'

interface Reading {
  readonly file: ConfigFile
  readonly report: (text: string, place?: Place) => void
}

const places: readonly ApprovalLinkPlace[] = ['webhook_endpoints', 'replies']
const setting = 'general_settings.approval_links'

/** Returns where signed links of approvals are sent. A link is an address, so it needs a public URL. */
export function approvalLinksOfFile({ file, report }: Reading): ApprovalLinkPlace[] {
  const { approval_links: given = [], public_url: url } = file.value.general_settings ?? {}
  for (const [index, name] of given.entries()) {
    if (places.some(place => place === name)) continue
    report(
      `${setting}[${index}] must be one of ${places.join(', ')}`,
      file.place(['general_settings', 'approval_links', index]),
    )
  }
  if (given.length > 0 && url === undefined)
    report(`${setting} requires general_settings.public_url`, file.place(['general_settings', 'approval_links']))
  return places.filter(place => given.includes(place))
}
