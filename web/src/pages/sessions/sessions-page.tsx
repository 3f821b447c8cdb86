import { Page } from '../../parts/page.tsx'

export function SessionsPage() {
  return <Page title="Sessions">This page is being built.</Page>
}
