import { Page } from '../../parts/page.tsx'

export function SchedulesPage() {
  return <Page title="Schedules">This page is being built.</Page>
}
