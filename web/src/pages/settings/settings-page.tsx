import { Page } from '../../parts/page.tsx'

export function SettingsPage() {
  return <Page title="Settings">This page is being built.</Page>
}
