<?php

class ApnsPHP_Message_Exception extends ApnsPHP_Exception
{
}
