import { Page } from '../../parts/page.tsx'

export function WebhooksPage() {
  return <Page title="Webhooks">This page is being built.</Page>
}
