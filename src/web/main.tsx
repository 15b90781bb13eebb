import { render } from 'preact';
import { App } from './app.js';
import { ReportPage } from './reports/reports-page.js';
import { makeTextSafe } from './format.js';
import './styles/base.css';
import './styles/parts.css';
import './styles/tables.css';
import './styles/matrix.css';
import './styles/diff.css';
import './styles/report.css';
import './styles/plots.css';
import './styles/run.css';
import './styles/steps.css';

makeTextSafe();
const place = document.getElementById('app');
if (place !== null) render(window.location.pathname === '/report' ? <ReportPage /> : <App />, place);
