import { Stack } from '@mantine/core'
import { AdminOnly } from '../../parts/admin-only.tsx'
import { Page } from '../../parts/page.tsx'
import { KillSwitches } from './kill-switches.tsx'
import { ServiceSection } from './service-section.tsx'
import { ThisBrowser } from './this-browser.tsx'

const title = 'Settings'

/** State and configuration of the service, kill switches, and the settings of this browser. */
export function SettingsPage() {
  return (
    <AdminOnly title={title} right="Only administrators see the settings of the service">
      <Page title={title} isScrolling>
        <Stack gap="lg" maw={1080}>
          <KillSwitches />
          <ThisBrowser />
          <ServiceSection />
        </Stack>
      </Page>
    </AdminOnly>
  )
}
