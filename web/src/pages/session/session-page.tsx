import { Page } from '../../parts/page.tsx'

export function SessionPage() {
  return <Page title="Session">This page is being built.</Page>
}
