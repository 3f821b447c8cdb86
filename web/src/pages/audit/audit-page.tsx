import { Page } from '../../parts/page.tsx'

export function AuditPage() {
  return <Page title="Audit">This page is being built.</Page>
}
