import { Page } from '../../parts/page.tsx'

export function RuntimesPage() {
  return <Page title="Runtimes">This page is being built.</Page>
}
