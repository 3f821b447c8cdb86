import '@fontsource-variable/inter/wght.css'
import '@fontsource-variable/jetbrains-mono/wght.css'
import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './styles.css'
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './data/queries.ts'
import { SignInGate } from './data/sign-in.tsx'
import { SignInPage } from './frame/sign-in-page.tsx'
import { StartProblem } from './frame/start-problem.tsx'
import { preparePagePolicy } from './page-policy.ts'
import { Loading } from './parts/page-state.tsx'
import { router } from './router.tsx'
import { cssVariables, theme } from './theme.ts'

const nonce = preparePagePolicy()
// The code of the page is loaded while the service says who has signed in.
void router.preloadRoute({ to: window.location.pathname })
const container = document.getElementById('root')
if (!container) throw new Error('the page has no element with the id "root"')

createRoot(container).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      {...(nonce && { getStyleNonce: () => nonce })}
    >
      <Notifications position="bottom-right" />
      <QueryClientProvider client={queryClient}>
        <SignInGate form={SignInPage} failed={StartProblem} pending={<Loading />}>
          <RouterProvider router={router} />
        </SignInGate>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
