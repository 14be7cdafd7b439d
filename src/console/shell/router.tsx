// The parts of the router that pages use: links, the address, and going to another page.

export { Link, useLocation, useNavigate } from "react-router-dom";
