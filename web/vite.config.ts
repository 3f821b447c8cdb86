import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { devServer, overviewAtRoot } from './build/dev-server.ts'
import { leanContract } from './build/lean-contract.ts'

/** Modules of pages; those of the first load stay in the files that Vite makes. */
const isShared = (id: string): boolean => /\/web\/src\/(parts|data)\/|@mantine|@tabler|@tanstack/.test(id)

export default defineConfig({
  base: '/console/',
  plugins: [leanContract(), overviewAtRoot(), react()],
  server: devServer,
  html: { cspNonce: '%NONCE%' },
  build: {
    manifest: true,
    target: 'es2023',
    // Data addresses are not allowed by the policy of the page.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: {
        // What many pages share is one file, instead of dozens that the browser requests before it shows a page.
        codeSplitting: { groups: [{ name: 'shared', minShareCount: 5, test: isShared }] },
      },
    },
  },
})
