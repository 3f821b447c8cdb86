import { Page } from '../../parts/page.tsx'

export function InboxPage() {
  return <Page title="Inbox">This page is being built.</Page>
}
