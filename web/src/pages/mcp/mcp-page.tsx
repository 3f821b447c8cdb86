import { Page } from '../../parts/page.tsx'

export function McpPage() {
  return <Page title="Mcp">This page is being built.</Page>
}
