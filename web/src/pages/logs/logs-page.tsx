import { Page } from '../../parts/page.tsx'

export function LogsPage() {
  return <Page title="Logs">This page is being built.</Page>
}
